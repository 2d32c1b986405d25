import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'

/** `~/.config/service-cli/config.toml` on every system; a relative `XDG_CONFIG_HOME` is ignored, as the XDG specification has it. */
export function configPath(
  env: Readonly<Record<string, string | undefined>>,
  home: string = homedir(),
): string {
  const xdg = env['XDG_CONFIG_HOME']
  const base = xdg !== undefined && isAbsolute(xdg) ? xdg : join(home, '.config')
  return join(base, 'service-cli', 'config.toml')
}
