console.log("tide")
