import { readFileSync, readdirSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'

/** Every secret that a test knows, and all that programs said or left, held against each other. */
export interface Ledger {
  /** A secret that is known from now on; what was heard before counts too. */
  keep(...secrets: readonly (string | undefined)[]): void
  hear(where: string, text: string): void
  /** Every file below the folder; `shown` cuts what a file may hold. */
  hearFolder(folder: string, shown?: (name: string, text: string) => string): void
  /** How many pieces of text were heard. */
  heard(): number
  readonly secrets: ReadonlySet<string>
  /** Where a secret stands, as it is or as an address or JSON would have it. */
  leaks(): string[]
}

export function createLedger(): Ledger {
  const secrets = new Set<string>()
  const heard: { where: string; text: string }[] = []

  return {
    secrets,
    keep(...found) {
      for (const secret of found) {
        if (secret === undefined || secret.length < 8) throw new Error('that is no secret')
        secrets.add(secret)
        // The parts that are as good as the whole, or say who it is.
        if (secret.startsWith('eyJ'))
          for (const part of secret.split('.').slice(1)) secrets.add(part)
      }
    },
    hear: (where, text) => void heard.push({ where, text }),
    hearFolder(folder, shown = (_name, text) => text) {
      for (const name of readdirSync(folder, { recursive: true })) {
        const path = join(folder, String(name))
        if (!statSync(path).isFile()) continue
        const text = shown(basename(path), readFileSync(path, 'latin1'))
        heard.push({ where: path, text })
      }
    },
    heard: () => heard.length,
    leaks: () =>
      heard.flatMap(({ where, text }) =>
        Array.from(secrets)
          .filter(secret => spellings(secret).some(spelling => text.includes(spelling)))
          .map(secret => `${where}: ${secret}`),
      ),
  }
}

function spellings(secret: string): string[] {
  const bytes = Buffer.from(secret)
  return [
    secret,
    encodeURIComponent(secret),
    new URLSearchParams({ x: secret }).toString().slice(2),
    JSON.stringify(secret).slice(1, -1),
    bytes.toString('hex'),
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
  ]
}
