import { renderAccountsBanner } from '../../lib/cli/banner.ts'
import type { OutputFlags } from '../../lib/cli/log-level.ts'
import { databaseName } from '../../server/database/settings.ts'
import { runServer } from '../run-server.ts'
import type { AccountsServerSettings } from './settings.ts'

/** Runs the accounts server until a signal ends it. */
export async function runAccountsServer(
  settings: AccountsServerSettings,
  output: OutputFlags,
): Promise<void> {
  const { dataDir } = settings
  const database = settings.database === undefined ? null : databaseName(settings.database)
  await runServer(
    {
      settings,
      async start(options, cancelled) {
        const { startAccountsServer } = await import('../../server/accounts-server.ts')
        const handle = await startAccountsServer(options, cancelled)
        if (!handle.local && new URL(handle.url).protocol === 'http:') {
          const advice =
            'passwords and tokens cross the network unencrypted: serve HTTPS with --tls-cert and --tls-key, or put a proxy with TLS in front and name it with --public-url'
          options.log.warn({ url: handle.url }, advice)
        }
        return handle
      },
      listening: ({ url, registration }) => ({
        url,
        registration,
        data_dir: dataDir,
        ...(database === null ? {} : { database }),
      }),
      banner: ({ url, registration, local }, shown) =>
        renderAccountsBanner({ url, registration, local, dataDir, database, ...shown }),
    },
    output,
  )
}
