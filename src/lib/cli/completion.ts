import { basename } from 'node:path'

const shells = ['bash', 'zsh', 'powershell'] as const

/** The named shell, or the login shell of the user. */
export function completionShell(named: string | undefined, env: NodeJS.ProcessEnv): string {
  const own = basename(env.SHELL ?? '').replace(/\.exe$/, '')
  const fallback = process.platform === 'win32' ? 'powershell' : 'bash'
  return named ?? shells.find(shell => shell === own) ?? fallback
}

/** How to enable completion after its scripts were written. */
export function completionSteps(shell: string): string {
  const script = `service-cli autocomplete script ${shell}`
  const [command, key] =
    shell === 'powershell'
      ? [`Add-Content -Path $PROFILE -Value (Invoke-Expression -Command "${script}")`, 'TAB']
      : [`printf "$(${script})" >> ~/.${shell}rc`, shell === 'bash' ? 'TAB twice' : 'TAB']
  return [
    `To complete commands and flags of service-cli in ${shell}, run once:`,
    '',
    `  ${command}`,
    '',
    `Then open a new terminal and press ${key} after service-cli.`,
    '',
  ].join('\n')
}
