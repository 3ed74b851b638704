package main

import (
	"fmt"
	"strings"
)

// lines are the lines of a text with what ends them. Only the last may have no end. What is more than a text may have
// stays in one piece.
func lines(text string) []string {
	all := strings.SplitAfterN(text, "\n", mostParts+1)
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return all
}

// hunk is a place that differs, with its surroundings.
type hunk struct {
	runs             []run
	a, aEnd, b, bEnd int
}

func unified(before, after []string, context int, names [2]string) unifiedResult {
	runs, coarse := align(before, after)
	result := unifiedResult{Coarse: coarse}
	hunks := group(runs, context, len(before), len(after))
	if len(hunks) == 0 {
		result.Same = true
		return result
	}
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", names[0], names[1])
	for _, hunk := range hunks {
		fmt.Fprintf(&out, "@@ -%s +%s @@\n", span(hunk.a, hunk.aEnd), span(hunk.b, hunk.bEnd))
		for _, run := range hunk.runs {
			write(&out, run, before, after)
			if !run.equal {
				result.Removed += run.aEnd - run.a
				result.Added += run.bEnd - run.b
			}
		}
	}
	result.Hunks, result.Diff = len(hunks), out.String()
	return result
}

// group cuts what is equal down to the context, and joins changes whose contexts touch.
func group(runs []run, context, aLen, bLen int) []hunk {
	var hunks []hunk
	for _, change := range runs {
		if change.equal {
			continue
		}
		lead := min(context, change.a, change.b)
		tail := min(context, aLen-change.aEnd, bLen-change.bEnd)
		next := hunk{a: change.a - lead, b: change.b - lead, aEnd: change.aEnd + tail, bEnd: change.bEnd + tail}
		if at := len(hunks) - 1; at >= 0 && next.a <= hunks[at].aEnd {
			hunks[at].aEnd, hunks[at].bEnd = next.aEnd, next.bEnd
			hunks[at].runs = append(hunks[at].runs, change)
			continue
		}
		next.runs = []run{change}
		hunks = append(hunks, next)
	}
	for i := range hunks {
		hunks[i].fill()
	}
	return hunks
}

// fill puts the equal lines back around and between the changes.
func (h *hunk) fill() {
	a, b := h.a, h.b
	var all []run
	for _, change := range h.runs {
		all = append(all, run{a, b, change.a, change.b, true}, change)
		a, b = change.aEnd, change.bEnd
	}
	h.runs = append(all, run{a, b, h.aEnd, h.bEnd, true})
}

// span is a range of lines as the format wants it: counted from 1, and from 0 when it is empty.
func span(from, end int) string {
	switch end - from {
	case 0:
		return fmt.Sprintf("%d,0", from)
	case 1:
		return fmt.Sprint(from + 1)
	}
	return fmt.Sprintf("%d,%d", from+1, end-from)
}

func write(out *strings.Builder, run run, before, after []string) {
	if run.equal {
		mark(out, " ", before[run.a:run.aEnd])
		return
	}
	mark(out, "-", before[run.a:run.aEnd])
	mark(out, "+", after[run.b:run.bEnd])
}

func mark(out *strings.Builder, sign string, lines []string) {
	for _, line := range lines {
		out.WriteString(sign)
		out.WriteString(line)
		if !strings.HasSuffix(line, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}
