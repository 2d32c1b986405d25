import { isLoopback } from '../../lib/util/address.ts'
import type { Settings } from '../../lib/mcp/settings/client.ts'

/** What will not last or is not safe about an entry that is otherwise right. */
export function warningsOf({
  url,
  keyed,
  bridge,
}: Pick<Settings, 'url' | 'keyed' | 'bridge'>): string[] {
  const { protocol, hostname, host } = new URL(url)
  const warnings: string[] = []
  if (keyed && protocol === 'http:' && !isLoopback(hostname)) {
    const open = `the key goes unencrypted to ${host}: use https where you can`
    const how = 'service-cli connect sends it only with --allow-http among its arguments'
    warnings.push(bridge === null ? open : `${open}; ${how}`)
  }
  if (bridge?.some(word => /[/\\]_npx[/\\]/.test(word))) {
    warnings.push(
      'the entry starts service-cli from the cache of npx, which may be emptied any time: ' +
        'install the packed file with npm install --global, then run this command without npx',
    )
  }
  return warnings
}
