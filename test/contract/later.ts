export interface LaterFact {
  readonly section: string
  readonly facts: readonly string[]
}

export const later: readonly LaterFact[] = [
  {
    section: 'Command-line client',
    facts: [
      'register <username> --email --password creates the account and logs in',
      'login <username> asks for the password without echo when --password is absent',
      'login saves the token in ~/.config/service-cli/config.toml',
      'whoami prints username and email',
      'the global option --token and SERVICE_TOKEN supply a token directly',
      'publish accepts a token',
    ],
  },
  {
    section: 'Decisions: stateless revision 2026-07-28',
    facts: [
      'unknown scheme or URI, and disabled backends, are -32602 with data.uri',
      'subscriptions/listen is -32601 without resources',
    ],
  },
]
