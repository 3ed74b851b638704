package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// mostChanges bounds the list that a model has to read.
const mostChanges = 1000

// mostPaths bounds what the paths of the changes take together, which below long keys is far more than the values have.
const mostPaths = 1 << 18

// mostValues bounds both values together, since each of them costs more than its text.
const mostValues = 16_000

type jsonResult struct {
	Same    bool     `json:"same" desc:"Whether there is no difference."`
	Changes []change `json:"changes" desc:"A JSON Patch that makes the new value of the old one, step by step."`
	Coarse  bool     `json:"coarse,omitempty" desc:"Whether lists differ so much that a shorter difference may exist."`
	More    bool     `json:"more,omitempty" desc:"Whether there are more changes than can be listed."`
}

type change struct {
	Op    string `json:"op" enum:"add,remove,replace"`
	Path  string `json:"path" desc:"Where, as a JSON Pointer (RFC 6901)."`
	Value *any   `json:"value,omitempty" desc:"The new value."`
	Was   *any   `json:"was,omitempty" desc:"The old value."`
}

// ToolText is one line for each change.
func (r jsonResult) ToolText() string {
	if r.Same {
		return "The values are the same."
	}
	var out strings.Builder
	for _, change := range r.Changes {
		out.WriteString(change.Op + " " + strconv.Quote(change.Path))
		if change.Was != nil {
			out.WriteString(", was " + compact(*change.Was))
		}
		if change.Value != nil {
			out.WriteString(", is " + compact(*change.Value))
		}
		out.WriteByte('\n')
	}
	if r.More {
		fmt.Fprintf(&out, "and more; only the first %d are listed\n", len(r.Changes))
	}
	return out.String()
}

func compareJSON(before, after string) (jsonResult, error) {
	old, err := parseJSON("before", before)
	if err != nil {
		return jsonResult{}, err
	}
	fresh, err := parseJSON("after", after)
	if err != nil {
		return jsonResult{}, err
	}
	it := comparison{forms: map[string]int{}}
	first, second := it.node(old), it.node(fresh)
	it.compare(first, second)
	it.result.Same = len(it.result.Changes) == 0
	return it.result, nil
}

// node is a value with a number that equal values share, whatever the order of their keys. So any two are compared at
// once, however large they are.
type node struct {
	form    int
	value   any
	members map[string]*node
	// keys are those of the members, sorted.
	keys  []string
	items []*node
}

// comparison knows by its path, key for key, where it is. The path of a change is put together only when there is one.
type comparison struct {
	forms  map[string]int
	path   []string
	spent  int
	result jsonResult
}

// node numbers a value and all in it.
func (it *comparison) node(value any) *node {
	made := &node{value: value}
	switch value := value.(type) {
	case map[string]any:
		made.members = make(map[string]*node, len(value))
		made.keys = slices.AppendSeq(make([]string, 0, len(value)), maps.Keys(value))
		slices.Sort(made.keys)
		form := []byte{'{'}
		for _, key := range made.keys {
			member := it.node(value[key])
			made.members[key] = member
			form = append(strconv.AppendQuote(form, key), ':')
			form = append(strconv.AppendInt(form, int64(member.form), 10), ',')
		}
		made.form = it.form(string(form))
	case []any:
		made.items = make([]*node, 0, len(value))
		form := []byte{'['}
		for _, item := range value {
			item := it.node(item)
			made.items = append(made.items, item)
			form = append(strconv.AppendInt(form, int64(item.form), 10), ',')
		}
		made.form = it.form(string(form))
	case json.Number:
		made.form = it.form(normal(value.String()))
	case string:
		made.form = it.form("\"" + value)
	default:
		made.form = it.form(fmt.Sprint(value))
	}
	return made
}

func (it *comparison) form(text string) int {
	known, has := it.forms[text]
	if !has {
		known = len(it.forms)
		it.forms[text] = known
	}
	return known
}

func (it *comparison) compare(before, after *node) {
	switch {
	case before.form == after.form, it.result.More:
	case before.members != nil && after.members != nil:
		it.objects(before, after)
	case before.items != nil && after.items != nil:
		it.lists(before.items, after.items)
	default:
		it.add("replace", &after.value, &before.value)
	}
}

// at does something one step further down.
func (it *comparison) at(step string, do func()) {
	it.path = append(it.path, step)
	do()
	it.path = it.path[:len(it.path)-1]
}

func (it *comparison) objects(before, after *node) {
	for _, key := range before.keys {
		was := before.members[key]
		member, has := after.members[key]
		switch {
		case it.result.More:
			return
		case !has:
			it.at(escape(key), func() { it.add("remove", nil, &was.value) })
		case member.form != was.form:
			it.at(escape(key), func() { it.compare(was, member) })
		}
	}
	for _, key := range after.keys {
		if _, had := before.members[key]; !had {
			it.at(escape(key), func() { it.add("add", &after.members[key].value, nil) })
		}
	}
}

// lists aligns the items. Each index is that of the list as the changes before have left it, which is how a patch is
// read.
func (it *comparison) lists(before, after []*node) {
	runs, coarse := align(forms(before), forms(after))
	it.result.Coarse = it.result.Coarse || coarse
	for _, run := range runs {
		if run.equal || it.result.More {
			continue
		}
		both := min(run.aEnd-run.a, run.bEnd-run.b)
		for i := range both {
			it.at(strconv.Itoa(run.b+i), func() { it.compare(before[run.a+i], after[run.b+i]) })
		}
		for _, item := range before[run.a+both : run.aEnd] {
			it.at(strconv.Itoa(run.b+both), func() { it.add("remove", nil, &item.value) })
		}
		for i := run.b + both; i < run.bEnd; i++ {
			it.at(strconv.Itoa(i), func() { it.add("add", &after[i].value, nil) })
		}
	}
}

// add lists a change of what the path leads to, unless there is no more room. Then nothing that follows is listed
// either, since a patch is read from its start.
func (it *comparison) add(op string, value, was *any) {
	size := 0
	for _, step := range it.path {
		size += len("/") + len(step)
	}
	if it.result.More || len(it.result.Changes) >= mostChanges || it.spent+size > mostPaths {
		it.result.More = true
		return
	}
	it.spent += size
	var path strings.Builder
	path.Grow(size)
	for _, step := range it.path {
		path.WriteString("/" + step)
	}
	it.result.Changes = append(it.result.Changes, change{op, path.String(), value, was})
}

func forms(nodes []*node) []int {
	forms := make([]int, len(nodes))
	for i, node := range nodes {
		forms[i] = node.form
	}
	return forms
}

var escapes = strings.NewReplacer("~", "~0", "/", "~1")

func escape(key string) string { return escapes.Replace(key) }
