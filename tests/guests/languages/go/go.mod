module features

go 1.27.1

require github.com/plugport/plugport/sdk-guest/go v0.1.0

replace github.com/plugport/plugport/sdk-guest/go => ../../../../sdk-guest/go
