package page_test

import (
	"fmt"
	"testing"
)

// Renderings as CommonMark has them, but that a line break stays one, headings come two levels lower, HTML is text,
// and what would be fetched is a link.
var renderings = []struct{ name, markdown, html string }{
	{"nothing", "", ``},
	{"blank lines", "\n \n", ``},
	{"paragraphs", "a\n\nb", `<p>a</p><p>b</p>`},
	{"a line break stays", "a  \nb\\\nc\nd", `<p>a<br>b<br>c<br>d</p>`},
	{"headings", "# A\n###### B ##\nC\n===\nD\n---", `<h3>A</h3><h6>B</h6><h3>C</h3><h4>D</h4>`},
	{"no heading without a blank", "#a", `<p>#a</p>`},
	{"rules", "***\n- - -\n___", `<hr><hr><hr>`},
	{"emphasis", "*a* _b_ **c** __d__ ***e*** ~~f~~", `<p><em>a</em> <em>b</em> <strong>c</strong> <strong>d</strong> <em><strong>e</strong></em> <del>f</del></p>`},
	{"emphasis nests", "**a *b* c** *d **e** f*", `<p><strong>a <em>b</em> c</strong> <em>d <strong>e</strong> f</em></p>`},
	{"no emphasis in names", "snake_case_name 2 * 3 * 4", `<p>snake_case_name 2 * 3 * 4</p>`},
	{"emphasis by the rule of three", "_a____b", `<p>_a____b</p>`},
	{"unfinished emphasis", "**a", `<p>**a</p>`},
	{"code", "`a` ``b`c`` ` d ` `e", "<p><code>a</code> <code>b`c</code> <code>d</code> `e</p>"},
	{"nothing counts in code", "`*a*` `<b>`", `<p><code>*a*</code> <code>&lt;b&gt;</code></p>`},
	{"escapes", "\\*a\\* \\a", `<p>*a* \a</p>`},
	{"entities", "&amp; &lt; &#65; &#x42; &bogus;", `<p>&amp; &lt; A B &amp;bogus;</p>`},
	{"HTML is text", `<img src=x onerror="alert(1)"><script>alert(1)</script>`,
		`<p>&lt;img src=x onerror="alert(1)"&gt;&lt;script&gt;alert(1)&lt;/script&gt;</p>`},
	{"a break as HTML", "a<br>b<BR/>c", `<p>a<br>b<br>c</p>`},
	{"links", `[a](https://b.c "t") <https://d.e> https://f.g/h.`,
		`<p>` + anchor("https://b.c/", "a") + ` ` + anchor("https://d.e/", "https://d.e") + ` ` + anchor("https://f.g/h", "https://f.g/h") + `.</p>`},
	{"mail", "<a@b.org> [x](mailto:c@d.org)", `<p>` + anchor("mailto:a@b.org", "a@b.org") + ` ` + anchor("mailto:c@d.org", "x") + `</p>`},
	{"a bare address ends before what is around it", "(https://a.b/c_(d)), **https://e.f**",
		`<p>(` + anchor("https://a.b/c_(d)", "https://a.b/c_(d)") + `), <strong>` + anchor("https://e.f/", "https://e.f") + `</strong></p>`},
	{"nothing is fetched for a picture", "![a](https://b.c/d.png)", `<p>` + anchor("https://b.c/d.png", "a") + `</p>`},
	{"links to scripts are text", "[a](javascript:alert(1)) [b](JaVa\tScript:x) [c](data:text/html,x) [d](/v1/models) <vbscript:x>",
		"<p><span>a</span> [b](JaVa\tScript:x) <span>c</span> <span>d</span> <span>vbscript:x</span></p>"},
	{"emphasis in links", "[*a* `b`](https://c.d)", `<p>` + anchor("https://c.d/", "<em>a</em> <code>b</code>") + `</p>`},
	{"brackets without a target", "[a] [b][c] a[0]", `<p>[a] [b][c] a[0]</p>`},
	{"fences", "```go\nx := *a* <b>\n\ny\n```\nz", "<pre><code>x := *a* &lt;b&gt;\n\ny</code></pre><p>z</p>"},
	{"tabs in code stay", "```\n\tx\n```\n- ```\n  \ty", "<pre><code>\tx</code></pre><ul><li><pre><code>\ty</code></pre></li></ul>"},
	{"tabs nest lists", "- a\n\t- b", `<ul><li>a<ul><li>b</li></ul></li></ul>`},
	{"a fence that is still open", "~~~\na\n```", "<pre><code>a\n```</code></pre>"},
	{"a fence in a list", "1. a\n   ```\n   b\n   ```\n2. c", "<ol><li>a<pre><code>b</code></pre></li><li>c</li></ol>"},
	{"indented code", "    a\n\n      b\nc", "<pre><code>a\n\n  b</code></pre><p>c</p>"},
	{"quotes", "> a\nb\n>\n> > c\n\nd", `<blockquote><p>a<br>b</p><blockquote><p>c</p></blockquote></blockquote><p>d</p>`},
	{"lists", "- a\n- b\n  - c\n\n1) d\n2) e", `<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul><ol><li>d</li><li>e</li></ol>`},
	{"lists begin where they say", "3. a\n4. b", `<ol start="3"><li>a</li><li>b</li></ol>`},
	{"loose lists have paragraphs", "- a\n\n- b", `<ul><li><p>a</p></li><li><p>b</p></li></ul>`},
	{"models nest by two blanks", "1. a\n  - b\n2. c", `<ol><li>a<ul><li>b</li></ul></li><li>c</li></ol>`},
	{"another mark is another list", "- a\n* b", `<ul><li>a</li></ul><ul><li>b</li></ul>`},
	{"a list ends a paragraph", "a\n- b\n\nc\n1. d", `<p>a</p><ul><li>b</li></ul><p>c</p><ol><li>d</li></ol>`},
	{"a year ends none", "It was in\n1984. Then", `<p>It was in<br>1984. Then</p>`},
	{"tasks", "- [ ] a\n- [x] b",
		`<ul><li class="task"><input type="checkbox" disabled="" aria-label="open">a</li>` +
			`<li class="task"><input type="checkbox" disabled="" checked="" aria-label="done">b</li></ul>`},
	{"tables", "a | b\n--|:-:\n`c|d` | e\\|f\ng\n\nh",
		table(`<th scope="col">a</th><th class="center" scope="col">b</th>`,
			`<tr><td><code>c|d</code></td><td class="center">e|f</td></tr><tr><td>g</td><td class="center"></td></tr>`) + `<p>h</p>`},
	{"a table without rows", "| a |\n|--:|", table(`<th class="right" scope="col">a</th>`, ``)},
	{"no table without its line", "| a | b |\n| c | d |", `<p>| a | b |<br>| c | d |</p>`},
	{"line ends of Windows", "a\r\n\r\n- b\r\n", `<p>a</p><ul><li>b</li></ul>`},
}

func anchor(href, inner string) string {
	return `<a href="` + href + `" target="_blank" rel="noopener noreferrer" title="` + href + `">` + inner + `</a>`
}

func table(head, rows string) string {
	if rows != "" {
		rows = "<tbody>" + rows + "</tbody>"
	}
	return `<div class="scroll" role="region" tabindex="0" aria-label="Table"><table><thead><tr>` + head + `</tr></thead>` + rows + `</table></div>`
}

const rendering = `
	const { Rendering } = await import("/markdown/render.js");
	window.rendered = (text) => {
		const element = document.createElement("div");
		new Rendering(element).update(text);
		return element.innerHTML;
	};
	// grown lets the text come letter by letter into one element.
	window.grown = (text) => {
		const element = document.createElement("div");
		const r = new Rendering(element);
		for (let n = 1; n <= text.length; n++) r.update(text.slice(0, n));
		return element.innerHTML;
	};`

func TestMarkdown(t *testing.T) {
	s, _ := serveWithout(t)
	b := openBlank(t, desktop)
	b.excuse("503")
	b.load(s.URL())
	b.run(rendering)
	for _, c := range renderings {
		t.Run(c.name, func(t *testing.T) {
			if got := js[string](b, `rendered(`+quote(c.markdown)+`)`); got != c.html {
				t.Errorf("%q\n got %s\nwant %s", c.markdown, got, c.html)
			}
			if got := js[string](b, `grown(`+quote(c.markdown)+`)`); got != c.html {
				t.Errorf("%q letter by letter\n got %s\nwant %s", c.markdown, got, c.html)
			}
		})
	}
	t.Run("finished blocks keep their elements", func(t *testing.T) {
		if !js[bool](b, `(async () => {
			const { Rendering } = await import("/markdown/render.js");
			const element = document.createElement("div");
			const r = new Rendering(element);
			r.update("# a\n\nb\n\nc");
			const [first, second] = element.children;
			r.update("# a\n\nb\n\nc d");
			return element.children[0] === first && element.children[1] === second && element.textContent === "abc d";
		})()`) {
			t.Error("they were made anew")
		}
	})
}

// What a model writes when it goes astray must not stop the page.
func TestMarkdownIsQuickOnHostileTexts(t *testing.T) {
	s, _ := serveWithout(t)
	b := openBlank(t, desktop)
	b.excuse("503")
	b.load(s.URL())
	b.run(rendering)
	const most = 300 // times what a plain text of the same length takes, whatever else this machine does
	for name, expression := range map[string]string{
		"openers of emphasis":   `"*a ".repeat(20000)`,
		"mixed emphasis":        `"**a*_b".repeat(10000)`,
		"closers":               `"a* ".repeat(20000)`,
		"runs of backticks":     `Array.from({length: 300}, (_, i) => "` + "`" + `".repeat(i + 1)).join(" ")`,
		"brackets":              `"[".repeat(30000) + "]".repeat(30000)`,
		"links without an end":  `"[a](".repeat(20000)`,
		"an address of parens":  `"https://a" + "(".repeat(20000) + ")".repeat(20000)`,
		"nested quotes":         `">".repeat(20000) + "a"`,
		"nested lists":          `"- ".repeat(20000) + "a"`,
		"lists further and in":  `Array.from({length: 400}, (_, i) => " ".repeat(2 * i) + "- a").join("\n")`,
		"a lazy paragraph":      `"- a\n" + "b\n".repeat(20000)`,
		"a wide table":          `"|a".repeat(5000) + "\n" + "|-".repeat(5000)`,
		"blank lines in a list": `"- a\n\n".repeat(5000)`,
	} {
		t.Run(name, func(t *testing.T) {
			times := js[float64](b, `(() => {
				const text = `+expression+`;
				const time = (text) => { const start = performance.now(); rendered(text); return performance.now() - start; };
				const plain = time("A *plain* text. ".repeat(text.length / 16));
				return time(text) / Math.max(plain, 1);
			})()`)
			if times > most {
				t.Errorf("it took %.0f times as long as a plain text", times)
			}
		})
	}
}

// Random texts throw nothing, make no element or attribute but the known ones, and come out the same in two steps.
func TestMarkdownOfRandomTextsIsHarmless(t *testing.T) {
	s, _ := serveWithout(t)
	b := openBlank(t, desktop)
	b.excuse("503")
	b.load(s.URL())
	b.run(rendering)
	const texts = 3000
	for _, problem := range js[[]string](b, fmt.Sprintf(`(async () => {
		const { Rendering } = await import("/markdown/render.js");
		const pieces = ["a", "b ", "\n", "\n\n", "  ", "    ", "\t", "*", "**", "_", "~~", "`+"`"+`", "`+"```"+`\n", "[", "](", ")", "!", "<", ">", "> ", "- ", "1. ",
			"# ", "---\n", "|", "|--|--|\n", "\\", "&#0;", "&lt;", "https://a.b", "javascript:", "data:", "<script>", " onclick=", '"', "[x] ", "===\n", "\u{1f426}", "\u0000", "\ud800"];
		const elements = new Set("P BR EM STRONG DEL CODE PRE A SPAN H3 H4 H5 H6 HR UL OL LI INPUT BLOCKQUOTE DIV TABLE THEAD TBODY TR TH TD".split(" "));
		const attributes = new Set("href target rel title class start type disabled checked aria-label role tabindex scope".split(" "));
		let seed = 7;
		const random = (n) => (seed = (seed * 48271) %% 2147483647) %% n;
		const problems = [];
		for (let i = 0; i < %d; i++) {
			const text = Array.from({length: 1 + random(25)}, () => pieces[random(pieces.length)]).join("");
			const element = document.createElement("div");
			try {
				const r = new Rendering(element);
				r.update(text.slice(0, random(text.length)));
				r.update(text);
			} catch (error) {
				problems.push(JSON.stringify(text) + ": " + error.stack);
				continue;
			}
			const all = [...element.querySelectorAll("*")];
			const known = all.every((e) => elements.has(e.tagName) && [...e.attributes].every((a) => attributes.has(a.name)));
			const safe = all.every((e) => !e.href || /^(https?|mailto):/.test(e.href));
			if (!known || !safe || element.innerHTML !== rendered(text)) problems.push(JSON.stringify(text) + ": " + element.innerHTML);
		}
		return problems;
	})()`, texts)) {
		t.Error(problem)
	}
}
