//! What a model wrote, as Markdown: its HTML is words, its pictures are links, and a link leads to the web or nowhere.

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

use super::escape::Told;

/// Longest text that is read as Markdown, in bytes; a longer one is shown as it is.
const MAX_BYTES: usize = 1024 * 1024;

/// The text as HTML.
pub(super) fn render(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    if text.len() > MAX_BYTES {
        return format!("<pre>{}</pre>", Told(text));
    }
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut links = Links::default();
    let events = Parser::new_ext(text, options).flat_map(|event| links.tame(event));
    html::push_html(&mut out, events);
    out
}

/// Which of the open links are shown as such.
#[derive(Default)]
struct Links(Vec<bool>);

impl Links {
    /// What is written for an event: none but what is known to be harmless passes as it is.
    fn tame<'t>(&mut self, event: Event<'t>) -> Vec<Event<'t>> {
        match event {
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => vec![words(&text)],
            Event::Code(text) => vec![raw(format!("<code>{}</code>", Told(&text)))],
            // What of a document is HTML stands as a paragraph.
            Event::Start(Tag::HtmlBlock) => vec![Event::Start(Tag::Paragraph)],
            Event::End(TagEnd::HtmlBlock) => vec![Event::End(TagEnd::Paragraph)],
            // A table scrolls within its own box.
            Event::Start(tag @ Tag::Table(_)) => {
                vec![raw("<div class=\"wide\">".into()), Event::Start(tag)]
            }
            Event::End(TagEnd::Table) => vec![Event::End(TagEnd::Table), raw("</div>".into())],
            // The name of a language is what a model says, and means nothing here.
            Event::Start(Tag::CodeBlock(_)) => vec![raw("<pre><code>".into())],
            Event::End(TagEnd::CodeBlock) => vec![raw("</code></pre>\n".into())],
            Event::Start(Tag::Link { dest_url, .. }) => vec![self.begin(&dest_url, "")],
            Event::Start(Tag::Image { dest_url, .. }) => vec![self.begin(&dest_url, "picture: ")],
            Event::End(TagEnd::Link | TagEnd::Image) => match self.0.pop() {
                Some(true) => vec![raw("</a>".into())],
                _ => vec![raw("</span>".into())],
            },
            Event::Start(
                Tag::Paragraph
                | Tag::BlockQuote(_)
                | Tag::List(_)
                | Tag::Item
                | Tag::TableHead
                | Tag::TableRow
                | Tag::TableCell
                | Tag::Emphasis
                | Tag::Strong
                | Tag::Strikethrough,
            )
            | Event::End(_)
            | Event::SoftBreak
            | Event::HardBreak
            | Event::Rule => vec![event],
            // Without a name of its own: it might be one of the page's.
            Event::Start(Tag::Heading { level, .. }) => vec![Event::Start(Tag::Heading {
                level,
                id: None,
                classes: Vec::new(),
                attrs: Vec::new(),
            })],
            Event::TaskListMarker(done) => {
                vec![raw(if done { "☑ " } else { "☐ " }.into())]
            }
            _ => Vec::new(),
        }
    }

    fn begin<'t>(&mut self, to: &str, what: &str) -> Event<'t> {
        let scheme = to
            .split_once(':')
            .map(|(scheme, _)| scheme.to_ascii_lowercase());
        let leads = matches!(scheme.as_deref(), Some("http" | "https" | "mailto"));
        self.0.push(leads);
        let to = Told(to);
        match leads {
            // A link that is no link says where it would have led.
            false => raw(format!("<span title=\"{}\">{what}", super::Escaped(to.0))),
            true => raw(format!(
                "<a href=\"{}\" rel=\"noreferrer nofollow\">{what}",
                super::Escaped(to.0)
            )),
        }
    }
}

fn words<'t>(text: &str) -> Event<'t> {
    raw(Told(text).into_string())
}

/// What is HTML already.
fn raw<'t>(html: String) -> Event<'t> {
    Event::InlineHtml(CowStr::from(html))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_is_shown_as_what_it_means() {
        let page = render(
            "# One\n\n**b** `c<` [w](https://w.test/?a=1&b=2)\n\n- x\n- [x] y\n\n|a|b|\n|-|-|\n|1|2|\n\n```rust\nlet <T>;\n```\n",
        );
        for part in [
            "<h1>One</h1>",
            "<strong>b</strong>",
            "<code>c&lt;</code>",
            "<a href=\"https://w.test/?a=1&amp;b=2\" rel=\"noreferrer nofollow\">w</a>",
            "☑ y",
            "<div class=\"wide\"><table>",
            "<td>2</td>",
            "</table>\n</div>",
            "<pre><code>let &lt;T&gt;;\n</code></pre>",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
    }

    #[test]
    fn nothing_a_model_writes_acts() {
        let hostile = [
            "<script>alert(1)</script>",
            "a <img src=x onerror=alert(1)> b",
            "![p](https://spy.test/p.png \"t\")",
            "[x](javascript:alert(1)) [y](JaVaScRiPt:alert(1)) [z](data:text/html,x) [r](../secret)",
            "<javascript:alert(1)>",
            "# h {#t1 .note onclick=x}",
            "```\"><script>\nx</code></pre><script>\n```",
            "`</code><script>`",
            "[a](https://w.test/\"onmouseover=\"x)",
            "a\u{202e}b\u{1b}[2J",
            "<style>*{display:none}</style>\n\n</main></body>",
        ];
        for text in hostile {
            let page = render(text);
            for bad in [
                "<script",
                "<img",
                "<style",
                "</main",
                "href=\"j",
                "href=\"J",
                "href=\"d",
                "href=\".",
                " onerror=alert(1)>",
                "id=",
                "\u{202e}",
                "\u{1b}",
                " onmouseover=\"x",
                "class=\"note",
            ] {
                assert!(!page.contains(bad), "{bad} of {text}: {page}");
            }
        }
        assert!(render(hostile[2]).contains("<a href=\"https://spy.test/p.png\""));
        assert!(render(hostile[9]).contains("<span class=\"unseen\">U+202E</span>"));
    }

    #[test]
    fn what_is_huge_or_deep_is_shown() {
        assert!(render(&"x ".repeat(MAX_BYTES)).starts_with("<pre>x "));
        for part in [">", "- ", "[", "*a ", "![](", "|", "`", "<a"] {
            assert!(!render(&part.repeat(20_000)).is_empty(), "{part}");
        }
    }
}
