"""See inside a model: an interactive report in one HTML file, and a live view of running trainings.

```python
import shootax as sx

fitted = sx.fit(net, x, y)
sx.report.write(fitted.net, "report.html", x, y, history=fitted.history)
```

Drawing needs Plotly: `pip install 'shootax[report]'`.
"""

from shootax.report._watch import Watch as Watch
from shootax.report._write import write as write
