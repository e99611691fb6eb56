package mtl

func openLibraries(string) ([]uintptr, error) { return nil, errNotDarwin }

func symbol(uintptr, string) (uintptr, error) { return 0, errNotDarwin }
