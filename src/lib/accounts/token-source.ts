import { checkSecretText, readSecretFile } from '../auth/secret-file.ts'
import { Secret } from '../util/secret.ts'

/** Which of the four places a token is taken from. */
export type TokenSource = 'option' | 'variable' | 'token_file' | 'config'

/** What is known about a token before any file but the configuration was read. */
export interface TokenPlaces {
  /** `--token` */
  readonly option: string | undefined
  /** `SERVICE_TOKEN` */
  readonly variable: string | undefined
  /** `SERVICE_TOKEN_FILE`: a path. */
  readonly tokenFile: string | undefined
  /** Whether the configuration file has a token for this accounts server. */
  readonly inConfig: boolean
  readonly configPath: string
}

export interface TokenChoice {
  readonly source: TokenSource
  /** The place in words: `--token`, `SERVICE_TOKEN`, a path. Never the token. */
  readonly name: string
}

/**
 * The place that counts, or null when there is a token in none: option, then `SERVICE_TOKEN`, then
 * `SERVICE_TOKEN_FILE`, then the configuration file. An empty text counts as absent.
 */
export function selectTokenSource(places: TokenPlaces): TokenChoice | null {
  const { option, variable, tokenFile, inConfig, configPath } = places
  if (isGiven(option)) return { source: 'option', name: '--token' }
  if (isGiven(variable)) return { source: 'variable', name: 'SERVICE_TOKEN' }
  if (isGiven(tokenFile)) {
    return { source: 'token_file', name: `SERVICE_TOKEN_FILE ${tokenFile}` }
  }
  return inConfig ? { source: 'config', name: configPath } : null
}

function isGiven(text: string | undefined): text is string {
  return text !== undefined && text.trim() !== ''
}

/**
 * The token of a place outside the configuration file, or null for the file itself. Throws
 * `config_invalid`, naming the place, when its text is no token.
 */
export async function readChosenToken(
  { source, name }: TokenChoice,
  places: TokenPlaces,
): Promise<Secret | null> {
  if (source === 'config') return null
  if (source === 'token_file') {
    const path = places.tokenFile ?? ''
    return new Secret(await readSecretFile(path, 'SERVICE_TOKEN_FILE', { mounted: true }))
  }
  const text = (source === 'option' ? places.option : places.variable) ?? ''
  return new Secret(checkTokenText(text.replace(/\r?\n$/, ''), name))
}

/**
 * Returns the token; throws `config_invalid`, naming only the place, for what no header can carry.
 */
export function checkTokenText(token: string, place: string): string {
  return checkSecretText(token, place, 'copy the token again, whole and alone: it has no spaces')
}
