module serve

go 1.24

require dlcore v0.0.0

replace dlcore => ../../../bindings/go
