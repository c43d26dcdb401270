# %% [markdown]
# # A table with scikit-learn
#
# The estimators of `shootax.sklearn` work in pipelines, grid searches and cross-validation like any others.
# You do not need to know what a particle is.

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes, load_wine
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score, train_test_split

from shootax.sklearn import ShootingClassifier, ShootingRegressor

# %% [markdown]
# ## Regression
#
# The estimator scales columns and targets, holds out some rows for early stopping, and keeps the best
# model.

# %%
x, y = load_diabetes(return_X_y=True, as_frame=True)
x_train, x_test, y_train, y_test = train_test_split(x, y, random_state=0)
model = ShootingRegressor().fit(x_train, y_train)
print(f"R² on new rows: {model.score(x_test, y_test):.3f}")
print(f"linear model:   {LinearRegression().fit(x_train, y_train).score(x_test, y_test):.3f}")
print(f"{model.n_parameters_} parameters, {model.n_iter_} epochs")

# %%
predicted = model.predict(x_test)
figure, axis = plt.subplots(figsize=(4, 4), layout="constrained")
axis.plot(y_test, predicted, "o", ms=3, color="#009E73")
low, high = y.min(), y.max()
axis.plot([low, high], [low, high], color="0.6", lw=1)
axis.set(xlabel="truth", ylabel="prediction")
# %% [markdown]
# A linear model is hard to beat on this table. [The guide](../guides/tables.md#how-good-it-is) has a
# comparison on more tables.
#
# ## scikit-learn's tools
#
# The folds of a cross-validation share one compiled program.

# %%
x_wine, y_wine = load_wine(return_X_y=True)
scores = cross_val_score(ShootingClassifier(), x_wine, y_wine, cv=3)
print("share of correct classes in three folds:", np.round(scores, 3))

# %%
importance = permutation_importance(model, x_test, y_test, n_repeats=5, random_state=0)
order = np.argsort(importance.importances_mean)
figure, axis = plt.subplots(figsize=(5, 3), layout="constrained")
axis.barh(np.array(x.columns)[order], importance.importances_mean[order], color="#009E73")
axis.set(xlabel="loss of R² when the column is shuffled")
# %% [markdown]
# ## Data frames in, data frames out

# %%
print(model.predict_frame(x_test.head(3)))

# %% [markdown]
# ## Save it
#
# The file holds the net, the scalers and the training curves. Nothing is pickled.

# %%
model.save("diabetes.safetensors")
again = ShootingRegressor.load("diabetes.safetensors")
print(np.abs(again.predict(x_test) - predicted).max())

# %% [markdown]
# You can do the same from a shell with `shootax fit table.csv --target y` and `shootax predict`. See
# [the commands](../guides/commands.md).
