"""The Goal Gradient Solver (R7): loss, gradient, macro-state, directive, lessons."""
