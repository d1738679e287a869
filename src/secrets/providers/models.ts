import { endpoint, type Provider, shipped } from '../provider.ts';

/** A run that loops must not spend without end; an operator who wants more writes data of their own. */
const MODEL = { requests: 200, tokens: 2_000_000 };

export const anthropic: Provider = shipped(
  'anthropic',
  'Anthropic',
  'api.anthropic.com',
  { form: 'header', name: 'x-api-key' },
  [
    endpoint('messages.create', 'ask Claude models', 'POST /v1/messages', { limits: MODEL }),
    endpoint('messages.count-tokens', 'count the tokens of a message', 'POST /v1/messages/count_tokens'),
    endpoint('messages.batches', 'run batches of messages', [
      'GET,POST /v1/messages/batches',
      'GET /v1/messages/batches/*',
      'GET /v1/messages/batches/*/results',
      'POST /v1/messages/batches/*/cancel',
    ]),
    endpoint('models.list', 'list the models', ['GET /v1/models', 'GET /v1/models/*']),
  ],
);

export const openai: Provider = shipped('openai', 'OpenAI', 'api.openai.com', { form: 'bearer' }, [
  endpoint('chat.completions', 'ask OpenAI models', 'POST /v1/chat/completions', { limits: MODEL }),
  endpoint('responses.create', 'ask OpenAI models by the responses API', 'POST /v1/responses', { limits: MODEL }),
  endpoint('embeddings.create', 'compute embeddings', 'POST /v1/embeddings', { limits: MODEL }),
  endpoint('images.generate', 'make images', 'POST /v1/images/generations', { limits: { requests: 50 } }),
  endpoint('audio.speech', 'turn text into speech', 'POST /v1/audio/speech', { limits: { requests: 50 } }),
  endpoint('audio.transcriptions', 'turn speech into text', 'POST /v1/audio/transcriptions', {
    limits: { requests: 50 },
  }),
  endpoint('moderations.create', 'check texts against the usage policies', 'POST /v1/moderations'),
  endpoint('models.list', 'list the models', ['GET /v1/models', 'GET /v1/models/*']),
]);

// The method stands in the last segment (`gemini-x:generateContent`), so that a model's POST is one capability.
export const google: Provider = shipped(
  'google',
  'Google Gemini',
  'generativelanguage.googleapis.com',
  { form: 'header', name: 'x-goog-api-key' },
  [
    endpoint(
      'models.generate',
      'ask Gemini models, count tokens and compute embeddings',
      ['POST /v1beta/models/*', 'POST /v1/models/*'],
      { limits: MODEL },
    ),
    endpoint('chat.completions', 'ask Gemini models by the OpenAI form', 'POST /v1beta/openai/chat/completions', {
      limits: MODEL,
    }),
    endpoint('models.list', 'list the models', [
      'GET /v1beta/models',
      'GET /v1beta/models/*',
      'GET /v1/models',
      'GET /v1/models/*',
    ]),
  ],
);
