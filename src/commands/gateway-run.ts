import { currentCommand } from '../lib/cli/own-command.ts'
import { renderGatewayBanner } from '../lib/cli/gateway-banner.ts'
import { defaultLimits } from '../lib/config/limits.ts'
import type { GatewaySettings } from './gateway-settings.ts'
import { findOpening } from './auth-settings.ts'
import { openWarning } from './open-warning.ts'
import { type OutputOptions, runServer } from './run-server.ts'

/** Runs the gateway until a signal ends it; behind another one, waits for its place. */
export async function runGateway(settings: GatewaySettings, output: OutputOptions): Promise<void> {
  await runServer(
    {
      warning: openWarning(settings, process.env),
      graceMs: settings.limits?.stopGraceMs ?? defaultLimits.stopGraceMs,
      async start(log, cancelled, say) {
        const { startGateway } = await import('../server/gateway.ts')
        const onElection = ({ event, ...facts }: { event: string }) =>
          say({ event, pid: process.pid, ...facts })
        return startGateway({ ...settings, onElection, log, accessLog: log.access }, cancelled)
      },
      listening: ({ url, instanceId, registryDir }) => ({
        url,
        instance_id: instanceId,
        registry_dir: registryDir,
      }),
      banner: ({ url, registryDir }, colour) =>
        renderGatewayBanner({
          url,
          registryDir,
          keyed: settings.auth?.mode === 'api-key',
          tokens: settings.auth?.mode === 'oauth',
          loopback: findOpening(settings) === null,
          colour,
          command: currentCommand(),
        }),
    },
    output,
  )
}
