import type { Provider } from '../provider.ts';
import { cloudflare, hetzner } from './cloud.ts';
import { github, gitlab } from './code.ts';
import { notion } from './documents.ts';
import { brave, openweathermap } from './lookup.ts';
import { discord, slack } from './messaging.ts';
import { anthropic, google, openai } from './models.ts';

/** SK-08: what needs no operator's file. */
export const SHIPPED_PROVIDERS: readonly Provider[] = [
  anthropic,
  brave,
  cloudflare,
  discord,
  github,
  gitlab,
  google,
  hetzner,
  notion,
  openai,
  openweathermap,
  slack,
];
