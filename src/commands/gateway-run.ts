import { renderGatewayBanner } from '../lib/cli/banner.ts'
import type { OutputFlags } from '../lib/cli/log-level.ts'
import type { GatewaySettings } from './gateway-settings.ts'
import { describeAccess, openWarning } from './auth-settings.ts'
import { runServer } from './run-server.ts'

/** Runs the gateway until a signal ends it; stands by while another one is active. */
export async function runGateway(settings: GatewaySettings, output: OutputFlags): Promise<void> {
  await runServer(
    {
      settings,
      warning: openWarning(settings, process.env),
      async start(options, cancelled, say) {
        const { startGateway } = await import('../server/gateway.ts')
        const onElection = ({ event, ...facts }: { event: string }) =>
          say({ event, pid: process.pid, ...facts })
        return startGateway({ ...options, onElection }, cancelled)
      },
      listening: ({ url, instanceId, registryDir }) => ({
        url,
        instance_id: instanceId,
        registry_dir: registryDir,
      }),
      banner: ({ url, registryDir, pageLogin }, shown) => {
        const acceptsJoins = settings.acceptJoins !== undefined
        return renderGatewayBanner({
          url,
          registryDir,
          namedDir: settings.registryDir,
          acceptsJoins,
          page: pageLogin(),
          ...describeAccess(settings),
          ...shown,
        })
      },
    },
    output,
  )
}
