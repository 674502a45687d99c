from hypothesis import settings

settings.register_profile("shopwright", deadline=None, derandomize=True, max_examples=200)
settings.load_profile("shopwright")
