"""The languages that a shop can be in: its currency, the words of its pages, and the files of its customers and searches.

A catalog is made in a language (`shopwright build catalog --language zh`), which its manifest keeps; all that is made from the
catalog is in that language, or is not offered there.
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.problem import Problem
from shopwright.schemas.shopping import Language

REFERENCE = Path(__file__).parents[1] / "data" / "reference"


@dataclass(frozen=True)
class PageWords:
    """What the shop's pages say beside the catalog's texts and the buttons, which are the same in all languages."""

    shop: str = "Shop"
    results: str = 'Results for "{query}"'
    popular: str = "Most popular"
    place: str = "Page {number} (Total results: {total})"
    money: str = "${amount}"
    money_range: str = "{low} to {high}"
    price: str = "Price: {price}"
    rating: str = "Rating: {rating} ({count} reviews)"
    one_rating: str = "Rating: {rating} ({count} review)"
    sold_out: str = "Sold out"
    in_stock: str = "In stock"
    not_offered: str = "Not offered in this combination"
    chosen: str = " (chosen)"
    fact: str = "{name}: {value}"
    listed: str = ", "
    no_description: str = "No description"
    description: str = "Description"
    features: str = "Features"
    reviews: str = "Reviews"
    cart: str = "Cart"
    empty: str = "The cart is empty"
    total: str = "Total: {amount}"
    thanks: str = "Thank you for your order"
    stars: str = "{stars} stars and up"
    up_to: str = "Up to {amount}"
    names: Mapping[str, str] | None = None
    """Of facts that the catalog has a column for."""

    def name(self, fact: str) -> str:
        return (self.names or {}).get(fact, fact)


@dataclass(frozen=True, eq=False)
class ShopLanguage:
    """A language with all that hangs on it; there is one object of each."""

    code: Language
    title: str
    """As messages name it."""
    currency: str
    folder: Path
    """Of its reference files: people, searches, kinds."""
    pages: PageWords = PageWords()

    def load(self, name: str) -> dict[str, Any]:
        return load_reference_file(self.folder / name)


@cache
def load_reference_file(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


CHINESE_PAGES = PageWords(
    shop="商城首页",
    results="“{query}”的搜索结果",
    popular="热销商品",
    place="第{number}页（共{total}件商品）",
    money="¥{amount}",
    money_range="{low}-{high}",
    price="价格：{price}",
    rating="评分：{rating}（{count}条评价）",
    one_rating="评分：{rating}（{count}条评价）",
    sold_out="已售罄",
    in_stock="有货",
    not_offered="该规格组合暂不提供",
    chosen="（已选）",
    fact="{name}：{value}",
    listed="、",
    no_description="暂无商品描述",
    description="商品描述",
    features="商品参数",
    reviews="商品评价",
    cart="购物车",
    empty="购物车是空的",
    total="合计：{amount}",
    thanks="下单成功，感谢您的购买",
    stars="{stars}星及以上",
    up_to="{amount}以下",
    names={
        "brand": "品牌",
        "color": "颜色",
        "category": "类目",
        "price": "价格",
        "shipping days": "预计送达天数",
        "rating": "评分",
        "review count": "评价数",
    },
)
LANGUAGES: dict[str, ShopLanguage] = {
    "en": ShopLanguage("en", "English", "USD", REFERENCE),
    "zh": ShopLanguage("zh", "Chinese", "CNY", REFERENCE / "chinese", CHINESE_PAGES),
}
ENGLISH = LANGUAGES["en"]


def language_of(settings: Mapping[str, Any]) -> ShopLanguage:
    """The language of a catalog by its settings; English where they say none.

    >>> language_of({"language": "zh"}).currency, language_of({}).currency
    ('CNY', 'USD')
    """
    return LANGUAGES[str(settings.get("language", "en"))]


def find_language(dataset: Dataset[Any]) -> ShopLanguage:
    """That of the catalog in a dataset's run."""
    return language_of(dataset.catalog_settings)


def check_offered(name: str, offered: Iterable[str], language: ShopLanguage) -> None:
    """Raises Problem for what a shop of this language does not have."""
    if language.code not in offered:
        raise Problem(
            f"{name} is not offered in {language.title} yet. Build it in another --run folder, from a catalog made with --language en."
        )
