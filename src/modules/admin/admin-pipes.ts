import { Injectable, type PipeTransform } from '@nestjs/common';
import { invalid } from '../../platform/errors/app-error.js';
import { isDecimalId } from '../../platform/ids/ids.js';
import { THIRD_PARTY_KINDS, type ThirdPartyKind } from '../config/config.types.js';

/** Path parameter: a name of configuration. */
@Injectable()
export class NamePipe implements PipeTransform<string, string> {
  transform(value: string): string {
    if (!/^[\w.-]{1,100}$/.test(value)) throw invalid('name', 'must be 1 to 100 of A-Z a-z 0-9 _ . -');
    return value;
  }
}

/** Path parameter: a tenant's id, or `0` for the platform. */
@Injectable()
export class TenantOrPlatformPipe implements PipeTransform<string, string> {
  transform(value: string): string {
    if (value !== '0' && !isDecimalId(value)) throw invalid('tenant', 'must be a decimal id, or 0 for all tenants');
    return value;
  }
}

/** Path parameter: a kind of outside service. */
@Injectable()
export class KindPipe implements PipeTransform<string, ThirdPartyKind> {
  transform(value: string): ThirdPartyKind {
    const kind = THIRD_PARTY_KINDS.find((one) => one === value);
    if (!kind) throw invalid('kind', `must be one of ${THIRD_PARTY_KINDS.join(', ')}`);
    return kind;
  }
}
