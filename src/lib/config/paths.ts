import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'

/** `~/.config/service-cli/config.toml` on every system; a relative `XDG_CONFIG_HOME` is ignored, as the XDG specification has it. */
export function configPath(
  env: Readonly<Record<string, string | undefined>>,
  home: string = homedir(),
): string {
  const xdg = env['XDG_CONFIG_HOME']
  const base = xdg !== undefined && isAbsolute(xdg) ? xdg : join(home, '.config')
  return join(base, 'service-cli', 'config.toml')
}

/** The named keys of this account, for all its servers. */
export function keysPath(...where: Parameters<typeof configPath>): string {
  return join(dirname(configPath(...where)), 'keys.json')
}
