type Env = Readonly<Record<string, string | undefined>>

const names = ['http_proxy', 'https_proxy', 'no_proxy'] as const

/** The proxy variables alone, both cases: what a Node agent is given as `proxyEnv`. */
export function proxyEnv(env: Env): Record<string, string> {
  const kept: Record<string, string> = {}
  for (const name of names.flatMap(name => [name, name.toUpperCase()])) {
    const value = env[name]
    if (value !== undefined && value !== '') kept[name] = value
  }
  return kept
}
