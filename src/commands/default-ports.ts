/** The port that each server takes unless it is told another. */
export const defaultPorts = { serve: 8765, gateway: 9765, registry: 8780 } as const
