// Command render makes the report of the freeze benchmark from its results.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"velero-plugin-csi-fastpoll.test/velero/freeze/report"
)

func main() {
	out := flag.String("out", "", "folder for the Markdown and the plot; empty: that of the results")
	readme := flag.String("readme", "", "README whose marked part is replaced as well")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "render: one results file is needed")
		os.Exit(2)
	}
	if err := render(flag.Arg(0), *out, *readme); err != nil {
		fmt.Fprintln(os.Stderr, "render:", err)
		os.Exit(1)
	}
}

func render(path, out, readme string) error {
	results, err := report.Read(path)
	if err != nil {
		return err
	}
	if out == "" {
		out = filepath.Dir(path)
	}
	svg, err := report.Plot(results)
	if err != nil {
		return err
	}
	files := map[string][]byte{
		filepath.Join(out, report.MarkdownFile): []byte(report.Markdown(results)),
		filepath.Join(out, report.PlotFile):     svg,
	}
	if readme != "" {
		text, err := os.ReadFile(readme)
		if err != nil {
			return err
		}
		replaced, err := report.ReplaceReadmeBlock(string(text), report.ReadmeBlock(results))
		if err != nil {
			return fmt.Errorf("%s: %w", readme, err)
		}
		files[readme] = []byte(replaced)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(name, content, 0o644); err != nil {
			return err
		}
		fmt.Println("written:", name)
	}
	fmt.Printf("\n%s", report.PassMark(results))
	return nil
}
