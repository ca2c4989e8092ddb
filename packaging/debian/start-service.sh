#!/bin/sh
# Started by location-service.service: names the unit's credentials in the environment, then becomes the service.
for file in "${CREDENTIALS_DIRECTORY:-/nonexistent}"/credentials_*; do
  [ ! -f "$file" ] || export "${file##*/credentials_}_FILE=$file"
done
exec /usr/bin/location-agent service
