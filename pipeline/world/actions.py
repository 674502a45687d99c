"""What can be done in the shop, and how much of each the published logs hold."""

SEARCH, CLICK, CART, PURCHASE = range(4)
ACTIONS = ("search", "click", "add to Cart", "purchase")
# Of 100 actions, as ShopTrajQA's target mix rounds to (arXiv 2606.07995, section 3).
QUOTA = (55, 35, 7, 3)
BLOCK = sum(QUOTA)
# Things left in the cart that are remembered; the oldest are forgotten.
OPEN_CARTS = 12
# What is only looked at may cost so many times the budget.
WINDOW_SHOPPING = 1.5
