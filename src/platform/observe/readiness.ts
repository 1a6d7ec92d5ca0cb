import { Injectable } from '@nestjs/common';

/** Does this node take new work? False until start-up has ended and again from the first sign of shutdown. */
@Injectable()
export class Readiness {
  private open = false;
  private readonly conditions = new Map<string, () => boolean>();

  get accepting(): boolean {
    return this.open;
  }

  /** A condition of a module without which the node must not be sent traffic. */
  require(name: string, holds: () => boolean): void {
    this.conditions.set(name, holds);
  }

  /** The conditions of the modules, by name. */
  get checks(): Record<string, boolean> {
    return Object.fromEntries([...this.conditions].map(([name, holds]) => [name, holds()]));
  }

  start(): void {
    this.open = true;
  }

  drain(): void {
    this.open = false;
  }
}
