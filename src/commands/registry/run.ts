import { currentCommand } from '../../lib/cli/own-command.ts'
import { renderRegistryBanner } from '../../lib/cli/registry-banner.ts'
import { defaultLimits } from '../../lib/config/limits.ts'
import { type OutputOptions, runServer } from '../run-server.ts'
import type { RegistrySettings } from './settings.ts'

/** Runs the registry until a signal ends it. */
export async function runRegistry(
  settings: RegistrySettings,
  output: OutputOptions,
): Promise<void> {
  const { dataDir } = settings
  await runServer(
    {
      graceMs: settings.limits?.stopGraceMs ?? defaultLimits.stopGraceMs,
      async start(log, cancelled) {
        const { startAccountsServer } = await import('../../server/accounts-server.ts')
        const handle = await startAccountsServer(
          { ...settings, log, accessLog: log.access },
          cancelled,
        )
        if (!handle.local && new URL(handle.url).protocol === 'http:') {
          const advice =
            'passwords and tokens cross the network unencrypted: serve HTTPS with --tls-cert and --tls-key, or put a proxy with TLS in front and name it with --public-url'
          log.warn({ url: handle.url }, advice)
        }
        return handle
      },
      listening: ({ url, registration }) => ({ url, registration, data_dir: dataDir }),
      banner: ({ url, registration, local }, colour) =>
        renderRegistryBanner({
          url,
          registration,
          local,
          dataDir,
          colour,
          command: currentCommand(),
        }),
    },
    output,
  )
}
