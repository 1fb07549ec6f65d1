#!/bin/bash
cd /tmp/w6 && exec /tmp/launch_env/run "$@"
