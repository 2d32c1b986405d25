import { type RegistryUrl, requireRegistryUrl } from '../util/registry-url.ts'

/** Where `service-cli registry` listens when nothing else is said. */
const builtInRegistry = 'http://127.0.0.1:8780'

interface RegistryChoice {
  readonly registry: RegistryUrl
  /** What named it, in words for people. */
  readonly source: string
}

/**
 * Which registry is meant: `--registry`, then `SERVICE_REGISTRY`, then `default_registry` of the
 * file, then its only login, then the one of this machine. An empty text counts as absent. Throws `usage_invalid`.
 */
export function selectRegistry(given: {
  readonly option: string | undefined
  readonly variable: string | undefined
  readonly file: string | undefined
  /** The only login that the file has. */
  readonly onlyLogin?: string | undefined
  readonly filePath: string
}): RegistryChoice {
  const named: readonly [text: string | undefined, source: string][] = [
    [given.option, '--registry'],
    [given.variable, 'SERVICE_REGISTRY'],
    [given.file, `default_registry in ${given.filePath}`],
    [given.onlyLogin, `the only login in ${given.filePath}`],
    [builtInRegistry, 'the built-in default'],
  ]
  for (const [text, source] of named) {
    if (text !== undefined && text.trim() !== '') {
      return { registry: requireRegistryUrl(text, source), source }
    }
  }
  throw new Error('unreachable: the built-in default is not empty')
}
