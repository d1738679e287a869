#!/usr/bin/env bash
# Asks OpenWeatherMap for the weather at the place named in the task.
set -euo pipefail
place=${SEKS_SKILL_TASK:?the task names a place}
key=$(seksh get custom/openweathermap-api-key)
seksh http GET "https://api.openweathermap.org/data/2.5/weather?units=metric&q=${place// /%20}&appid=${key}" > "$SANDBOX_OUTPUT"
echo "asked for the weather in $place"
