"""The published files described in Croissant 1.0 (mlcommons.org), for those who read metadata and no card."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from shopwright.pipeline.publish.layout import Laid, LaidConfig

CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "containedIn": "cr:containedIn",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
PARQUET = "application/x-parquet"


def describe_in_croissant(laid: Laid, facts: Mapping[str, Any]) -> str:
    """JSON-LD of every file and column. facts: name, description, license, url, version."""
    files = [each for config in laid.configs.values() for each in list_file_sets(config)]
    found = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        **facts,
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": "repo",
                "name": "repo",
                "description": "The folder of all files.",
                "contentUrl": facts["url"],
                "encodingFormat": "git+https",
                "sha256": "https://github.com/mlcommons/croissant/issues/80",
            },
            *files,
        ],
        "recordSet": [describe_records(config) for config in laid.configs.values()],
    }
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def list_file_sets(config: LaidConfig) -> Iterator[dict[str, Any]]:
    yield {
        "@type": "cr:FileSet",
        "@id": f"{config.name}-files",
        "name": f"{config.name}-files",
        "containedIn": {"@id": "repo"},
        "encodingFormat": PARQUET,
        "includes": f"data/{config.name}/*.parquet",
    }


def describe_records(config: LaidConfig) -> dict[str, Any]:
    fields = [describe_field(config.name, field) for field in config.features.arrow_schema]
    return {
        "@type": "cr:RecordSet",
        "@id": config.name,
        "name": config.name,
        "description": config.about,
        "field": fields,
    }


def describe_field(config: str, field: pa.Field) -> dict[str, Any]:
    """A column; what is nested in it is read as JSON is."""
    kind = field.type.value_type if pa.types.is_list(field.type) else field.type
    found: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": f"{config}/{field.name}",
        "name": field.name,
        "dataType": name_type(kind),
        "source": {"fileSet": {"@id": f"{config}-files"}, "extract": {"column": field.name}},
    }
    return found | ({"repeated": True} if pa.types.is_list(field.type) else {})


def name_type(kind: pa.DataType) -> str:
    """
    >>> name_type(pa.string()), name_type(pa.int64()), name_type(pa.decimal128(12, 2)), name_type(pa.date32())
    ('sc:Text', 'sc:Integer', 'sc:Float', 'sc:Date')
    """
    if pa.types.is_boolean(kind):
        return "sc:Boolean"
    if pa.types.is_integer(kind):
        return "sc:Integer"
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "sc:Float"
    return "sc:Date" if pa.types.is_temporal(kind) else "sc:Text"
