import { isLoopback } from '../lib/address.ts'
import { renderBanner } from '../lib/cli/banner.ts'
import { defaultLimits } from '../server/options.ts'
import { type OutputOptions, runServer } from './run-server.ts'
import type { ServeSettings } from './serve-settings.ts'

/** Runs the resource server until a signal ends it. */
export async function runServe(settings: ServeSettings, output: OutputOptions): Promise<void> {
  await runServer(
    {
      graceMs: settings.limits?.stopGraceMs ?? defaultLimits.stopGraceMs,
      async start(log, cancelled) {
        const { startServe } = await import('../server/serve.ts')
        return startServe({ ...settings, log, accessLog: log.access }, cancelled)
      },
      listening: ({ url, hostUrl, hostTokenFile, instanceId }) => ({
        url,
        host_url: hostUrl,
        host_token_file: hostTokenFile,
        instance_id: instanceId,
      }),
      banner: ({ url, hostUrl, hostTokenFile }, colour) =>
        renderBanner({
          url,
          hostUrl,
          hostTokenFile,
          keyed: (settings.auth?.mode ?? 'none') !== 'none',
          loopback: isLoopback(settings.host),
          colour,
        }),
    },
    output,
  )
}
