# Copyright 2026 The ilr_dynamics contributors
# SPDX-License-Identifier: Apache-2.0
#
# Sourced by the other tools: the environment that everything in this checkout is built and run in.
# It is the ROS 2 of the calling shell or, where none is sourced, the wheels in .venv; .venv also
# holds what ROS 2 does not bring.

# One name for a checkout that several links lead to; cd would look in CDPATH, too.
root=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
venv=$root/.venv

# An outer `make -j` would hand its job server to the compilers.
unset MAKEFLAGS MFLAGS MAKELEVEL

# Name of the sourced ROS 2, or "wheels".
if [[ -n ${ROS_DISTRO:-} && -n ${AMENT_PREFIX_PATH:-} ]]; then
    ros=$ROS_DISTRO
else
    ros=wheels
fi

# has_ros_package NAME: whether the sourced ROS 2 has a package; the wheels are those of requirements/.
has_ros_package() {
    local prefixes prefix
    [[ $ros != wheels ]] || return 1
    IFS=: read -ra prefixes <<<"$AMENT_PREFIX_PATH"
    for prefix in "${prefixes[@]}"; do
        if [[ -e $prefix/share/ament_index/resource_index/packages/$1 ]]; then
            return
        fi
    done
    return 1
}

activate_environment() {
    if [[ $ros == wheels ]]; then
        activate_wheels
    fi
    export VIRTUAL_ENV=$venv PATH=$venv/bin:$PATH
    export ROS_LOG_DIR=$root/log/ros MPLCONFIGDIR=$root/log/matplotlib
    # Some containers set it. Each of the many Pythons that demo and tests start would compile NumPy,
    # SciPy and ROS 2 anew, for seconds.
    unset PYTHONDONTWRITEBYTECODE
}

activate_wheels() {
    unset ROS_DISTRO PYTHONHOME PYTHONPATH COLCON_PREFIX_PATH
    export AMENT_PREFIX_PATH=$venv CMAKE_PREFIX_PATH=$venv
    # The wheels' start-up hook sets the library path by starting every Python a second time. It is
    # set here instead, and the hook told that it is done.
    local libraries=("$venv"/lib/python3*/site-packages/ros_*.libs)
    LD_LIBRARY_PATH=$venv/lib$(printf ':%s' "${libraries[@]}")
    export LD_LIBRARY_PATH _ROS_WHEELS_BOOTSTRAP_COMPLETE=1
}
