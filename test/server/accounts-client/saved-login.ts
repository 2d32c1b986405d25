import { join } from 'node:path'
import type { SavedLogin } from '../../../src/lib/config/config-file.ts'
import { createConfigStore } from '../../../src/lib/config/config-store.ts'
import { withSavedToken } from '../../../src/lib/accounts/session.ts'
import { Secret } from '../../../src/lib/util/secret.ts'
import { withFolder } from '../../helpers/folder.ts'
import { type LogLine, recordingLog } from '../../helpers/recording-log.ts'
import { type RotatingAccounts, withRotatingAccounts } from './rotating-accounts.ts'
import { clientOf } from './support.ts'

export const minuteMs = 60_000

export interface Case {
  readonly registry: RotatingAccounts
  readonly path: string
  readonly store: ReturnType<typeof createConfigStore>
  readonly lines: readonly LogLine[]
  save(entry: SavedLogin): Promise<unknown>
  saved(): Promise<SavedLogin | undefined>
  /** Who is logged in, by the saved token. */
  whoami(): Promise<string>
}

export function withCase(run: (parts: Case) => Promise<void>): Promise<void> {
  return withFolder(folder =>
    withRotatingAccounts(async registry => {
      const path = join(folder, 'service-cli', 'config.toml')
      const log = recordingLog()
      const { lines } = log
      const store = createConfigStore({ path, log, lockWaitMs: 100 })
      const client = clientOf(registry.url)
      const parts = { client, store, log, refreshMarginMs: 5 * minuteMs }
      await run({
        registry,
        path,
        store,
        lines,
        save: entry =>
          store.update(config => ({
            ...config,
            servers: new Map(config.servers).set(registry.url, { login: entry }),
          })),
        saved: async () => (await store.read()).servers.get(registry.url)?.login,
        whoami: async () => (await withSavedToken(parts, token => client.me(token))).username,
      })
    }),
  )
}

/** What a login an hour ago left: valid for so long. */
export function login({ access, refresh }: RotatingAccounts, leftMs: number): SavedLogin {
  return {
    username: 'alice',
    accessToken: new Secret(access),
    accessExpiresAtMs: Date.now() + leftMs,
    refreshToken: new Secret(refresh),
  }
}
