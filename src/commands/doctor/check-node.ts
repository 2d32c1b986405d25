import type { Finding } from './finding.ts'

/** The least version, as `bin/run.js` asks for it. */
const needed = '24.15'

/** `version` without the v. */
export function checkNode(version: string, platform: string): Finding {
  const check = 'node'
  if (isOlder(version, needed)) {
    const summary = `Node ${version} is too old: ${needed} or newer is needed`
    return { check, status: 'fail', summary, hint: 'install Node 24 from https://nodejs.org' }
  }
  const summary = `Node ${version} on ${platform}`
  if (platform.startsWith('linux')) return { check, status: 'ok', summary }
  return {
    check,
    status: 'warn',
    summary: `${summary}: only Linux is tested so far`,
    hint: 'owners and modes of files may not be checked, and nobody knows who holds a port',
  }
}

function isOlder(version: string, minimum: string): boolean {
  const have = version.split('.').map(Number)
  const [major = 0, minor = 0] = minimum.split('.').map(Number)
  return (have[0] ?? 0) < major || (have[0] === major && (have[1] ?? 0) < minor)
}
