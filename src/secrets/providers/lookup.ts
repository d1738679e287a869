import { endpoint, type Provider, shipped } from '../provider.ts';

const LOOKUP = { limits: { requests: 500 } };

export const brave: Provider = shipped(
  'brave',
  'Brave Search',
  'api.search.brave.com',
  { form: 'header', name: 'x-subscription-token' },
  [
    endpoint('web.search', 'search the web', 'GET /res/v1/web/search', LOOKUP),
    endpoint('news.search', 'search news', 'GET /res/v1/news/search', LOOKUP),
    endpoint('images.search', 'search images', 'GET /res/v1/images/search', LOOKUP),
    endpoint('videos.search', 'search videos', 'GET /res/v1/videos/search', LOOKUP),
    endpoint('suggest.search', 'complete what one searches for', 'GET /res/v1/suggest/search', LOOKUP),
    endpoint('local.search', 'look up places', ['GET /res/v1/local/pois', 'GET /res/v1/local/descriptions'], LOOKUP),
    endpoint('summarizer.search', 'summarise what was found', 'GET /res/v1/summarizer/search', LOOKUP),
  ],
);

export const openweathermap: Provider = shipped(
  'openweathermap',
  'OpenWeatherMap',
  'api.openweathermap.org',
  { form: 'query', name: 'appid' },
  [
    endpoint('weather.read', 'look up the weather now', 'GET /data/2.5/weather', LOOKUP),
    endpoint('forecast.read', 'look up forecasts', ['GET /data/2.5/forecast', 'GET /data/2.5/forecast/daily'], LOOKUP),
    endpoint(
      'onecall.read',
      'look up weather and forecasts in one call',
      ['GET /data/3.0/onecall', 'GET /data/3.0/onecall/*'],
      LOOKUP,
    ),
    endpoint(
      'air-pollution.read',
      'look up the quality of the air',
      ['GET /data/2.5/air_pollution', 'GET /data/2.5/air_pollution/*'],
      LOOKUP,
    ),
    endpoint(
      'geocoding.read',
      'find places by name',
      ['GET /geo/1.0/direct', 'GET /geo/1.0/reverse', 'GET /geo/1.0/zip'],
      LOOKUP,
    ),
  ],
  // The seed's example: the skill asks for the key by this name and never holds it.
  [{ key: 'openweathermap-api-key', hosts: ['api.openweathermap.org'] }],
);
