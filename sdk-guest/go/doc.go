// Package plugport makes MCP tools, resources and prompts of Go functions. A program that registers some in an init
// function, and whose main is empty, is built into a WebAssembly component and dropped into a Plugport server's folder.
//
//	type HelloArgs struct {
//		Name string `json:"name" desc:"Who to greet."`
//	}
//
//	func hello(call *plugport.Call, args HelloArgs) (string, error) {
//		return "Hello, " + args.Name + "!", nil
//	}
//
//	func init() { plugport.Tool("hello", "Greet someone by name.", hello, plugport.ReadOnly()) }
//
//	func main() {}
//
// The package plugporttest stands in for the host in ordinary tests.
package plugport
