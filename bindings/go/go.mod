module dlcore

go 1.24
