package plugport

import (
	"fmt"
	"os"
	"runtime/debug"
	"strings"
)

// registered is all that the plugin lists, in the order in which it was said. Registering happens in each fresh
// instance, so it only appends; whatever costs more waits until something is listed or called. Mistakes wait too: in a
// list they can be told, in an init function they would be a trap without words.
var registered struct {
	tools      []*tool
	resources  []*resource
	prompts    []*prompt
	completers []completer
	middleware []func(next Handler) Handler
}

// mistakes joins what is wrong with one kind of things, and with names that are there twice.
func mistakes(kind string, names, found []string) error {
	seen := map[string]int{}
	for _, name := range names {
		seen[name]++
		if seen[name] == 2 {
			found = append(found, fmt.Sprintf("the %s `%s` is registered twice; rename one", kind, name))
		}
	}
	if len(found) == 0 {
		return nil
	}
	return Errorf(Internal, "%s", strings.Join(found, "; "))
}

// guard turns a panic into an error, and puts the stack in the log. It is deferred by every way into the plugin.
func guard(call *Call, doing string, err *error) {
	panicked := recover()
	if panicked == nil {
		return
	}
	report := fmt.Sprintf("panic while %s: %v\n%s", doing, panicked, debug.Stack())
	if call == nil || !logged(call, report) {
		fmt.Fprintln(os.Stderr, report)
	}
	*err = Errorf(Internal, "the plugin panicked while %s: %v; its log has the stack", doing, panicked)
}

// logged tries the client's log, which a call that has ended no longer has.
func logged(call *Call, report string) (done bool) {
	defer func() { done = recover() == nil }()
	call.Logger("panic").Log(LevelError, report)
	return true
}
