#!/usr/bin/env bash
# Asks OpenWeatherMap for the weather at the place named in the task.
set -euo pipefail
place=${SEKS_SKILL_TASK:?the task names a place}
# Every byte as %XX: a place may hold spaces, accents, and what a URL would take for its own.
query=$(printf '%s' "$place" | od -An -v -tx1 | tr -d '\n' | tr ' ' '%')
key=$(seksh get custom/openweathermap-api-key)
seksh http GET "https://api.openweathermap.org/data/2.5/weather?units=metric&q=${query}&appid=${key}" > "$SANDBOX_OUTPUT"
echo "asked for the weather in $place"
