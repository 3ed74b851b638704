package plugport_test

import (
	"strings"
	"testing"

	"github.com/plugport/plugport/sdk-guest/go"
	"github.com/plugport/plugport/sdk-guest/go/plugporttest"
)

// around may hold itself, and has a field by which JSON does not follow it.
type around struct {
	Inner any     `json:"inner"`
	Whole *around `json:"-"`
}

// level has all of its members from what it embeds, which is no level of JSON.
type level struct {
	within
}

type within struct {
	Inner any `json:"inner"`
}

type page struct {
	lists
}

type lists struct {
	Items []string `json:"items"`
}

// fork writes itself, and so does not have to be looked into.
type fork struct {
	Back *fork
}

func (fork) MarshalText() ([]byte, error) {
	return []byte("fork"), nil
}

type holder struct {
	Value any `json:"value"`
}

var wraps = map[string]func(any) any{
	"list":     func(inner any) any { return []any{inner} },
	"array":    func(inner any) any { return [1]any{inner} },
	"map":      func(inner any) any { return map[string]any{"a": inner} },
	"struct":   func(inner any) any { return around{Inner: inner} },
	"pointer":  func(inner any) any { return &around{Inner: &inner} },
	"embedded": func(inner any) any { return level{within{inner}} },
}

func nested(depth int, wrap string) holder {
	var value any = 1
	for range depth {
		value = wraps[wrap](value)
	}
	return holder{value}
}

type nestArgs struct {
	Depth int    `json:"depth"`
	Wrap  string `json:"wrap"`
}

func init() {
	plugport.Tool("nest", "Nest.", func(call *plugport.Call, args nestArgs) (holder, error) {
		return nested(args.Depth, args.Wrap), nil
	})
	plugport.Tool("log-nest", "Log what is nested.", func(call *plugport.Call, args nestArgs) (string, error) {
		call.Log(plugport.LevelInfo, nested(args.Depth, args.Wrap))
		return "logged", nil
	})
	plugport.Tool("ring", "Hold itself.", func(*plugport.Call, struct{}) (holder, error) {
		ring := &around{}
		ring.Whole, ring.Inner = ring, []any{1, map[string]any{"ring": ring}}
		return holder{ring}, nil
	})
	plugport.Tool("whole", "Hold itself where JSON does not look.", func(*plugport.Call, struct{}) (holder, error) {
		whole := &around{Inner: []byte("x")}
		whole.Whole = whole
		return holder{whole}, nil
	})
	plugport.Tool("whole-itself", "Be what holds itself.", func(*plugport.Call, struct{}) (*around, error) {
		whole := &around{Inner: 1}
		whole.Whole = whole
		return whole, nil
	})
	plugport.Tool("fork", "Write what holds itself as a text.", func(*plugport.Call, struct{}) (map[string]*fork, error) {
		back := &fork{}
		back.Back = back
		return map[string]*fork{"a": back}, nil
	})
	plugport.Tool("embedded", "Have lists that were never made.", func(*plugport.Call, struct{}) (page, error) {
		return page{}, nil
	})
}

func TestWhatIsNestedTooDeeplyIsAnError(t *testing.T) {
	const words = "the tool's result cannot be written as JSON: it is nested more than 64 deep"
	for wrap := range wraps {
		// The result itself is the first level.
		equal(t, plugporttest.New().CallTool("nest", nestArgs{63, wrap}).IsError(), false)
		for _, depth := range []int{64, 500, 2_000, 20_000} {
			outcome := plugporttest.New().CallTool("nest", nestArgs{depth, wrap})
			equal(t, plugport.KindOf(outcome.Err), plugport.Internal)
			equal(t, strings.HasPrefix(outcome.Text(), words), true)
		}
		client := plugporttest.New()
		equal(t, client.CallTool("log-nest", nestArgs{20_000, wrap}).Text(), "logged")
		equal(t, strings.Contains(client.Logs()[0].Data.(string), "nested more than 64 deep"), true)
	}
}

func TestWhatHoldsItselfIsAnError(t *testing.T) {
	equal(t, strings.Contains(plugporttest.New().CallTool("ring", struct{}{}).Text(), "nested more than 64 deep"), true)
	equal(t, plugporttest.New().CallTool("whole", struct{}{}).Text(), `{"value":{"inner":"eA=="}}`)
	equal(t, plugporttest.New().CallTool("whole-itself", struct{}{}).Text(), `{"inner":1}`)
	equal(t, plugporttest.New().CallTool("fork", struct{}{}).Text(), `{"a":"fork"}`)
}

func TestListsOfWhatIsEmbeddedAreNoNull(t *testing.T) {
	equal(t, plugporttest.New().CallTool("embedded", struct{}{}).Text(), `{"items":[]}`)
}
