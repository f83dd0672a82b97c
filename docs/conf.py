"""Settings of the site for Sphinx, which ``make docs`` builds: tools/site says from what.

Nothing is fetched, neither when the site is built nor when it is read.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "src")]

from cloakgp import __version__  # noqa: E402
from tools.site.members import methods_of, properties_of  # noqa: E402
from tools.site.pages import code_host  # noqa: E402

project = "cloakgp"
author = "The cloakgp developers"
copyright = author
version = release = __version__
language = "en"

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
templates_path = [str(HERE / "_templates")]
exclude_patterns = ["**/sg_execution_times.rst"]
highlight_language = "none"  # formulas stand in indented blocks; examples say what they are
smartquotes = False  # two dashes begin an option
nitpicky = False

# Markdown, as code hosts read it.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
suppress_warnings = ["config.cache"]  # templates are given functions, which Sphinx cannot keep

copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

# Pages of names, from their docstrings.
autosummary_generate = True
autodoc_typehints = "none"  # types stand in the signature or in the text, once
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
default_role = "literal"
add_module_names = False
toc_object_entries_show_parents = "hide"
python_use_unqualified_type_names = True
autosummary_context = {"methods_of": methods_of, "properties_of": properties_of}

# The gallery: scripts of docs/gallery, run one after the other.
sphinx_gallery_conf = {
    "examples_dirs": [str(HERE / "gallery")],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"__init__\.py",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": False,
    "only_warn_on_example_error": False,
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "write_computation_times": False,
    "plot_gallery": "True",
    "remove_config_comments": True,
    "reset_modules": ("matplotlib", "tools.site.examples.begin"),
    "image_scrapers": ("tools.site.examples.figures", "matplotlib"),
    "capture_repr": ("_repr_html_",),  # figures are shown, not named
    "image_srcset": ["2x"],
    "thumbnail_size": (480, 320),
    "doc_module": ("cloakgp",),
    "backreferences_dir": "generated/backreferences",
    "min_reported_time": 1e9,
}

# How it looks: the theme as it is, in the colours of releases' pages.
html_theme = "pydata_sphinx_theme"
html_title = "cloakgp"
html_static_path = [str(HERE / "_static")]
html_css_files = ["custom.css"]
html_logo = html_favicon = str(HERE / "_static" / "icon.svg")
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_last_updated_fmt = None
html_sidebars = {"index": [], "tutorial": [], "guide": []}
html_theme_options = {
    "logo": {
        "text": "cloakgp",
        "image_light": "_static/icon.svg",
        "image_dark": "_static/icon.svg",
    },
    "icon_links": [{"name": "Source", "url": code_host(), "icon": "fa-brands fa-github"}],
    "header_links_before_dropdown": 8,
    "navbar_align": "left",
    "show_prev_next": False,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": {"**": ["page-toc"]},
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "github-light",
    "pygments_dark_style": "github-dark",
}
